/** Texts that differ between any two runs of the same command, and their placeholders in a comparison. */
const GENERATED: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "UID"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, "TIME"],
  [/(node-csr-)[\w-]{43}/g, "$1HASH"],
  [/\b[a-z0-9]{6}\.(?:\*{4}|[a-z0-9]{16}\b)/g, "TOKEN"],
  // The end of an Event's name looks like a token after six letters.
  [/\.\*{4}/g, ".HASH"],
  [/(bootstrap-token-|system:bootstrap:|bootstrap token )[a-z0-9]{6}\b/g, "$1ID"],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{12,64}\b/g, "HASH"],
  // The letters of generateName, with a ReplicaSet's hash in front or without.
  [/(?:-[bcdfghjklmnpqrstvwxz2456789]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "-NAME"],
  [/(127\.0\.0\.1|localhost|\[::1\]):\d+/g, "$1:PORT"],
  [/\b(?!127\.0\.0\.1\b)\d{1,3}(?:\.\d{1,3}){3}\b/g, "IP"],
  [/\b(resourceVersion=|timeoutSeconds=)[^&\s]+/g, "$1N"],
  [/\b(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+(?![a-z])/g, "DURATION"],
  [/\b\d+(?:\.\d+)? (?:ms|s|min|h)\b/g, "DURATION"],
  [/\/tmp\/[^\s:"']+/g, "FOLDER"],
];

/** A text without what a run generates: UIDs, tokens, suffixes of names, times, ports. */
export function normalText(text: string): string {
  return GENERATED.reduce((normal, [pattern, name]) => normal.replace(pattern, name), text);
}
