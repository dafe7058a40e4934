import { BadRequest } from "./bad-request.js";
import { shown } from "./fields.js";

/** A text with what may follow it, or what begins or ends an object or a list. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")\s*(:)?|[{}[\]]/g;
/** Nothing here asks for more than a pod's containers' command: 4. */
const MAX_LEVELS = 20;

/**
 * What JSON.parse lets through: of a name that stands twice in one object it takes the last, and JSON.stringify takes
 * seconds for what has too many levels.
 *
 * @param json valid JSON
 * @throws BadRequest
 */
export function checkBody(json: string): void {
  const open: Set<string>[] = [];
  for (const [token, text, colon] of json.matchAll(TOKENS)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    if (open.length > MAX_LEVELS) throw new BadRequest(`the body has more than ${MAX_LEVELS} levels`);
    if (text === undefined || colon === undefined) continue;
    const name = String(JSON.parse(text));
    const names = open.at(-1);
    if (names?.has(name) === true) throw givenTwice(name);
    names?.add(name);
  }
}

export function givenTwice(name: string): BadRequest {
  return new BadRequest(`${shown(name)} is given twice: say it once, in the body or in the query`, name);
}
