const BEFORE = "Last error: ";
const BEHIND = ". Resolution note:";
const TIME = /\(\d{4}-\d\d-\d\dT[^()]*\)$/;

/**
 * The reason in grpc-js's message about a failed connection, without the time and the note on name resolution; undefined for any other
 * message.
 */
export function lastErrorIn(details: string): string | undefined {
  const found = details.indexOf(BEFORE);
  const end = found < 0 ? -1 : details.indexOf(BEHIND, found);
  if (end < 0) return undefined;
  const reason = details.slice(found + BEFORE.length, end);
  return (reason.startsWith("Error: ") ? reason.slice("Error: ".length) : reason).replace(TIME, "").trimEnd();
}
