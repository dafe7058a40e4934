import { InvalidArgumentError } from "commander";
import { LabError } from "../../util/errors.js";
import { parseDuration } from "../cli/options.js";
import type { HttpAddress } from "../inspector/page-server.js";

export interface PlegCommandOptions {
  readonly mock?: boolean;
  readonly cri?: string;
  readonly evented?: boolean;
  readonly relistPeriod?: number;
  readonly http?: HttpAddress;
  readonly ui?: number | true;
  readonly duration?: number;
  readonly versionOnly?: boolean;
  readonly kubeVersion?: string;
  readonly speed?: number;
}

/** A shorter period would keep the runtime busy. */
const MIN_RELIST_PERIOD_MS = 10;

/** @throws LabError USAGE for flags that contradict each other */
export function checkOptions(options: PlegCommandOptions): void {
  const { mock, cri, speed } = options;
  checkVersionOnly(options);
  const embedded = mock === true ? "--mock" : speed === undefined ? undefined : "--speed";
  if (cri === undefined || embedded === undefined) return;
  throw new LabError(
    "USAGE",
    `${embedded} is for the embedded runtime, and --cri names another one`,
    `Leave out ${embedded} or --cri.`,
  );
}

/** --version-only exits at once, so flags for watching contradict it. */
function checkVersionOnly({ versionOnly, evented, relistPeriod, http, ui, duration }: PlegCommandOptions): void {
  if (versionOnly !== true) return;
  const flags = {
    "--evented": evented,
    "--relist-period": relistPeriod,
    "--http": http,
    "--ui": ui,
    "--duration": duration,
  };
  const [other] = Object.entries(flags).find(([, value]) => value !== undefined) ?? [];
  if (other === undefined) return;
  const message = `--version-only ends at once, and ${other} applies only to watching`;
  throw new LabError("USAGE", message, `Leave out ${other} or --version-only.`);
}

/** The value of `--relist-period`, in ms. */
export function parseRelistPeriod(text: string): number {
  const ms = parseDuration(text);
  if (ms >= MIN_RELIST_PERIOD_MS) return ms;
  throw new InvalidArgumentError(`expected at least ${MIN_RELIST_PERIOD_MS}ms.`);
}
