import { thirdPerson } from "../../util/i18n/third-person.js";

/** Texts of steps and decisions that do not begin with a verb, or whose object comes first. */
const FORMS: readonly (readonly [RegExp, (...values: readonly string[]) => string])[] = [
  [/^Does this node need to bootstrap\?$/, () => "checks whether this node needs to bootstrap"],
  [/^Is the name (\S+) free\?$/, (name) => `checks whether the name ${name} is free`],
  [/^Watch CSR (\S+) until it is approved and signed$/, (csr) => `waits until the certificate of CSR ${csr} is issued`],
  [/^Test the new identity: read (.*)$/, (object) => `tests the new identity: reads ${object}`],
  [/^What (the token \S+) means$/, (token) => `shows what ${token} means`],
  [/^Where (the token's rights come from): (.*)$/, (rights, from) => `shows where ${rights}: ${from}`],
  [/^audit ID (.*)$/, (id) => `gives the request the audit ID ${id}`],
  [/^(Cache-Control: .*)$/, (header) => `sets ${header}`],
  [/^the body must be here in (.*)$/, (time) => `gives the body ${time} to arrive`],
  [/^default (\w+)$/, (kind) => `fills in the defaults of ${kind}`],
  [/^valid: (.*)$/, (object) => `finds ${object} valid`],
  [/^(transaction on .*)$/, (transaction) => `runs a ${transaction}`],
  [/^event (\w+ \S+) at (revision \d+): (.*) of \S+$/, (event, at, to) => `sends ${event} to ${to}, ${at}`],
  [/^(\d{3} .*)$/, (status) => `answers ${status}`],
  [/^(.* may (?:not )?\S+ \S+\/\S+)$/, (right) => `learns that ${right}`],
  [/^no node for (.*)$/, (pod) => `finds no node for ${pod}`],
  [/^(\S+) goes back into the queue$/, (pod) => `puts ${pod} back into the queue`],
  [/^(claim|volume) (\S+) may go$/, (kind, name) => `lets ${kind} ${name} go`],
  [
    /^(.*) shall provision (a volume for claim .*)$/,
    (plugin, volume) => `leaves it to ${plugin} to provision ${volume}`,
  ],
  [/^(sync\w*Pod) (\S+)$/, (func, pod) => `calls ${func} for pod ${pod}`],
  [/^Relist (\d+): (.*)$/, (number, changes) => `relists (${number}): ${changes}`],
  [/^([A-Z]+ from \S+: \[.*)$/, (update) => `merges ${update}`],
  [/^(CSR \S+): approve$/, (csr) => `approves ${csr}`],
  [/^(CSR \S+): sign for (.*)$/, (csr, signer) => `signs ${csr} for ${signer}`],
  [/^(CSR \S+): refuse to sign$/, (csr) => `refuses to sign ${csr}`],
  [/^(CSR \S+): leave it to a person$/, (csr) => `leaves ${csr} to a person`],
  [/^(node \S+): the conditions become Unknown$/, (node) => `sets the conditions of ${node} to Unknown`],
  [/^(node \S+): still counts as (.*)$/, (node, as) => `keeps counting ${node} as ${as}`],
  [/^(node \S+): pods get addresses from (.*)$/, (node, range) => `gives the pods of ${node} addresses from ${range}`],
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
