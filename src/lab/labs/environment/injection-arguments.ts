import { MessageError } from "../../../util/i18n/message-error.js";
import type { InjectionArguments } from "./environment.js";

export function text(args: InjectionArguments, key: string): string | undefined {
  const value = args[key];
  return value === undefined ? undefined : String(value);
}

export function number(args: InjectionArguments, key: string): number | undefined {
  const value = args[key];
  return value === undefined ? undefined : Number(value);
}

/** @throws LabError USAGE */
export function oneOf<T extends string>(args: InjectionArguments, key: string, known: Iterable<T>): T {
  const value = text(args, key) ?? "";
  const found = [...known].find((one) => one === value);
  if (found === undefined) {
    throw new MessageError("USAGE", { verbatim: `${key}: ${value}` }, [
      "expectedOneOf",
      { names: [...known].join(", ") },
    ]);
  }
  return found;
}
