import type { RealTarget } from "../../lab/labs/environment/own/cluster.js";
import { defined } from "../../util/defined.js";
import type { Language } from "../../util/i18n/language.js";

/** All flags of `kubelab learn` and its subcommands. */
export interface LearnFlags {
  readonly lang?: Language;
  readonly color: boolean;
  readonly speed?: number;
  readonly seed?: number;
  readonly ui?: number | true;
  readonly yes?: boolean;
  readonly answers?: string;
  readonly detach?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly real?: boolean;
  readonly json?: boolean;
  readonly junit?: boolean;
  readonly force?: boolean;
  readonly wait?: boolean;
  readonly kubeVersion?: string;
  /** minutes; true: the lab's own */
  readonly exam?: number | true;
  readonly random?: boolean;
}

/** The flags without those that name the learner's own cluster. */
export function embeddedOnly({ real: _real, ...flags }: LearnFlags): Omit<LearnFlags, "real"> {
  return flags;
}

/** @returns undefined if no flag names the learner's own cluster */
export function realTarget({ kubeconfig, context, real, yes }: LearnFlags): RealTarget | undefined {
  if (kubeconfig === undefined && context === undefined && real !== true) return undefined;
  return {
    ...defined({ kubeconfig, context, yes }),
  };
}
