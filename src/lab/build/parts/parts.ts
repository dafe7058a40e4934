import type { RunParts } from "../../chaos/stage.js";
import type { LivePart } from "../task.js";
import { exec } from "./exec.js";
import { csr, token } from "./identity.js";
import { keepLease, leaseLoop, renewInterval } from "./leases.js";
import type { Written } from "./part.js";
import { backOff, eviction, generateEvents, getPhase, podCache } from "./pods.js";
import { mirrorPod, podConfig } from "./sources.js";

/** How a live run uses the learner's part, or kubelab's own. */
export const PARTS: Readonly<Record<LivePart, (written: Written) => RunParts>> = {
  ...{ renewInterval, leaseLoop, keepLease, generateEvents, getPhase, backOff, podCache, eviction },
  ...{ podConfig, mirrorPod, token, csr, exec },
};
