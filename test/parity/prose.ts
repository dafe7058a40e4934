/**
 * Texts for people in which no fact is: the embedded control plane words them itself, as sentences are not copied. They are
 * compared for being there on both sides; items that differ in nothing else count as the same, and are counted.
 */
const PROSE = [
  // What a column of a table holds. Its name, type, format and priority are facts.
  /\/columnDefinitions\/\d+\/description$/,
];

/** @param path of the place: `/response/body/columnDefinitions/0/description` */
export function isProse(path: string, recorded: unknown, ours: unknown): boolean {
  const isText = (value: unknown) => typeof value === "string" && value.trim() !== "";
  return isText(recorded) && isText(ours) && PROSE.some((place) => place.test(path));
}
