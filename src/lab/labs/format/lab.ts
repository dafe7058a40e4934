import type { Language } from "../../../util/i18n/language.js";
import type { LabDefinition } from "./schema.js";
import type { LabText } from "./text.js";

/** A lab: its definition and its texts in each language. */
export interface Lab {
  readonly definition: LabDefinition;
  readonly text: Readonly<Record<Language, LabText>>;
}
