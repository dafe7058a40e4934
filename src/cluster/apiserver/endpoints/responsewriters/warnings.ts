/** Mirrors truncateAtTotalRunes and truncateItemRunes: longer headers would exceed what clients accept. */
const MAX_TOTAL_LENGTH = 4 * 1024;
const MAX_ITEM_LENGTH = 256;

/**
 * The values of the Warning headers. If the texts exceed the total limit, each is shortened, and the last ones are dropped.
 * Mirrors recorder.AddWarning in k8s.io/apiserver/pkg/endpoints/filters/warning.go.
 */
export function warningHeaders(warnings: readonly string[]): string[] {
  const texts = [...new Set(warnings)];
  let total = 0;
  for (const text of texts) total += text.length;
  if (total <= MAX_TOTAL_LENGTH) return texts.map(warningHeader);
  const headers: string[] = [];
  let written = 0;
  for (const text of texts) {
    if (written >= MAX_TOTAL_LENGTH) break;
    const shown = text.slice(0, MAX_ITEM_LENGTH);
    written += shown.length;
    headers.push(warningHeader(shown));
  }
  return headers;
}

/** Mirrors NewWarningHeader. Header values cannot contain control characters; other text travels as the bytes of UTF-8. */
function warningHeader(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what is replaced
  const escaped = text.replace(/[\x00-\x1f\x7f]+/g, " ").replace(/[\\"]/g, (char) => `\\${char}`);
  return `299 - "${Buffer.from(escaped).toString("latin1")}"`;
}
