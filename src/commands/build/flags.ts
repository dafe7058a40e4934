import type { Language } from "../../util/i18n/language.js";

/** Flags of every subcommand of `kubelab build`. */
export interface BuildFlags {
  readonly lang?: Language;
  readonly json?: true;
  /** commander's form of --no-live */
  readonly live?: boolean;
  readonly yes?: true;
}
