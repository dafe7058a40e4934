import { bootstrap } from "./bootstrap.js";
import type { Chapter } from "./chapter.js";
import { eviction } from "./eviction.js";
import { hops } from "./hops.js";
import { lease } from "./lease.js";
import { pleg } from "./pleg.js";
import { podWorkers } from "./pod-workers.js";
import { request } from "./request.js";
import { scheduler } from "./scheduler.js";

/** The chapters that have a picture. Of those that a fact is about, the first one is shown. */
export const CHAPTERS: readonly Chapter[] = [hops, eviction, scheduler, lease, bootstrap, pleg, podWorkers, request];
