import { thirdPerson } from "../../util/i18n/third-person.js";

/** Texts of steps and decisions that do not begin with a verb, or whose object comes first. */
const FORMS: readonly (readonly [RegExp, (...values: readonly string[]) => string])[] = [
  [/^(transaction on .*)$/, (transaction) => `runs a ${transaction}`],
  [/^event (\w+ \S+) at (revision \d+): (.*) of \S+$/, (event, at, to) => `sends ${event} to ${to}, ${at}`],
  [/^(.* may (?:not )?\S+ \S+\/\S+)$/, (right) => `learns that ${right}`],
  [/^(sync\w*Pod) (\S+)$/, (func, pod) => `calls ${func} for pod ${pod}`],
  [/^Relist (\d+): (.*)$/, (number, changes) => `relists (${number}): ${changes}`],
  [/^([A-Z]+ from \S+: \[.*)$/, (update) => `merges ${update}`],
  [/^(CSR \S+): approve$/, (csr) => `approves ${csr}`],
  [/^(CSR \S+): sign for (.*)$/, (csr, signer) => `signs ${csr} for ${signer}`],
  [/^(CSR \S+): refuse to sign$/, (csr) => `refuses to sign ${csr}`],
  [/^(CSR \S+): leave it to a person$/, (csr) => `leaves ${csr} to a person`],
  [/^(node \S+): add ([^,;]+)((?:;.*)?)$/, (node, taint, rest = "") => `adds ${taint} to ${node}${rest}`],
  [/^(node \S+): remove ([^,]+)$/, (node, taint) => `removes ${taint} from ${node}`],
  [/^(node \S+): ((?:add|remove) .*)$/, (node, changes) => `changes the taints of ${node}: ${changes}`],
  [/^\S+ (falls silent: .*)$/, (silence = "") => silence],
  [/^(pod \S+) on node \S+: delete it (.*)$/, (pod, when) => `plans to delete ${pod} ${when}`],
  [/^(pod \S+) on (node \S+): let it stay$/, (pod, node) => `lets ${pod} stay on ${node}`],
];

/** The text of a step or a decision as a sentence without its subject, which its actor is: `stores the token as Secret x`. */
export function inThirdPerson(text: string): string {
  for (const [form, sentence] of FORMS) {
    const found = form.exec(text);
    if (found !== null) return sentence(...found.slice(1));
  }
  return thirdPerson(text);
}
