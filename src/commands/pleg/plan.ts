import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../cli/options.js";
import { LabError } from "../../util/errors.js";
import type { HttpAddress } from "../window/page-server.js";

export interface PlegCommandOptions {
  readonly mock?: boolean;
  readonly cri?: string;
  readonly evented?: boolean;
  readonly relistPeriod?: number;
  readonly http?: HttpAddress;
  readonly duration?: number;
  readonly versionOnly?: boolean;
  readonly kubeVersion?: string;
  readonly speed?: number;
}

/** The relist period must leave the runtime some time. */
const MIN_RELIST_PERIOD_MS = 10;

/** @throws LabError USAGE for flags that contradict each other */
export function checkOptions({ mock, cri, speed }: PlegCommandOptions): void {
  const embedded = mock === true ? "--mock" : speed === undefined ? undefined : "--speed";
  if (cri === undefined || embedded === undefined) return;
  throw new LabError(
    "USAGE",
    `${embedded} is for the embedded runtime, and --cri names another one`,
    `Leave out ${embedded} or --cri.`,
  );
}

/** The value of `--relist-period`, in ms. */
export function parseRelistPeriod(text: string): number {
  const ms = parseDuration(text);
  if (ms >= MIN_RELIST_PERIOD_MS) return ms;
  throw new InvalidArgumentError(`expected at least ${MIN_RELIST_PERIOD_MS}ms.`);
}
