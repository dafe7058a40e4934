import { type Say, sayIn } from "../../../util/i18n/catalogue.js";
import type { Language } from "../../../util/i18n/language.js";
import { type Say as SayFact, sentencesIn } from "../../../util/i18n/sentences.js";
import type { Lab } from "../format/lab.js";
import type { LabText } from "../format/text.js";
import { fillAll } from "../format/variables.js";

/** The texts of a lab in the learner's language, which a command can change while the lab runs. */
export class LabWords {
  #text: LabText;
  #say: Say;

  /** @param sayFact the sentences of facts in that language; undefined: English */
  constructor(
    readonly lab: Lab,
    readonly values: Readonly<Record<string, string>>,
    language: Language,
    public sayFact: SayFact | undefined,
  ) {
    this.#text = this.textIn(language);
    this.#say = sayIn(language);
  }

  get text(): LabText {
    return this.#text;
  }

  get say(): Say {
    return this.#say;
  }

  /** The lab's text in any language, with the values of this run. */
  textIn(language: Language): LabText {
    return fillAll(this.lab.text[language], this.values);
  }

  /** Switches the language. Output of the lab's commands stays in the language that the lab was started in. */
  async speak(language: Language): Promise<void> {
    this.sayFact = (await sentencesIn(language))?.say;
    this.#text = this.textIn(language);
    this.#say = sayIn(language);
  }
}
