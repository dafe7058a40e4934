/**
 * Texts for people without facts: the embedded control plane has its own wording, as sentences are not copied. The
 * comparison only requires them on both sides; items that differ in nothing else count as equal, and are counted.
 */
const PROSE = [
  // The description of a table's column. Its name, type, format and priority are facts.
  /\/columnDefinitions\/\d+\/description$/,
];

/** @param path of the value: `/response/body/columnDefinitions/0/description` */
export function isProse(path: string, recorded: unknown, ours: unknown): boolean {
  const isText = (value: unknown) => typeof value === "string" && value.trim() !== "";
  return isText(recorded) && isText(ours) && PROSE.some((place) => place.test(path));
}
