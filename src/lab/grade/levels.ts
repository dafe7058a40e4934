import type { Level } from "./exam.js";
import { NODE_LEVEL } from "./levels/1-node.js";
import { PODS_LEVEL } from "./levels/2-pods.js";
import { RESTARTS_LEVEL } from "./levels/3-restarts.js";
import { JOINS_LEVEL } from "./levels/4-joins.js";
import { OUTAGES_LEVEL } from "./levels/5-outages.js";

/** In the order in which an agent's author meets them. */
export const LEVELS: readonly Level[] = [NODE_LEVEL, PODS_LEVEL, RESTARTS_LEVEL, JOINS_LEVEL, OUTAGES_LEVEL];
