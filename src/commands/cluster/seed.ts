import { InvalidArgumentError } from "commander";

/** The value of `--seed`. */
export function parseSeed(text: string): number {
  const seed = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(seed)) return seed;
  throw new InvalidArgumentError("expected a whole number from 0.");
}
