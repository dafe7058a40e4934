import type { IncomingMessage } from "node:http";

/** What was sent is not what the route takes. */
export class BadBody extends Error {
  override readonly name = "BadBody";
}

const MAX_BODY_BYTES = 1024 * 1024;

/** A request's JSON object; none is the same as an empty one. @throws BadBody */
export async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MAX_BODY_BYTES) throw new BadBody("the body is longer than 1 MB");
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString().trim();
  if (text === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadBody("the body is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new BadBody("the body is no JSON object");
  return value as Readonly<Record<string, unknown>>;
}

/** Arguments of a request, each read as what it must be; the query counts where the body says nothing. */
export class Body {
  constructor(
    readonly fields: Readonly<Record<string, unknown>>,
    readonly query: URLSearchParams = new URLSearchParams(),
  ) {}

  text(name: string): string | undefined {
    const value = this.fields[name] ?? this.query.get(name) ?? undefined;
    if (value === undefined || typeof value === "string") return value;
    throw new BadBody(`${name} is no text`);
  }

  /** `{ name: text }` where there is one: for optional properties */
  optional<N extends string>(name: N): { readonly [K in N]?: string } {
    const value = this.text(name);
    return value === undefined ? {} : ({ [name]: value } as { readonly [K in N]?: string });
  }

  /** a whole number from 0 */
  number(name: string): number | undefined {
    const value = this.fields[name] ?? this.query.get(name) ?? undefined;
    if (value === undefined) return undefined;
    const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0) return number;
    throw new BadBody(`${name} is no whole number`);
  }

  flag(name: string): boolean {
    const value = this.fields[name] ?? this.query.get(name) ?? false;
    if (value === true || value === "" || value === "true") return true;
    if (value === false || value === "false") return false;
    throw new BadBody(`${name} is neither true nor false`);
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = values.find((one) => one === value);
    if (found === undefined) throw new BadBody(`${name} is none of ${values.join(", ")}`);
    return found;
  }

  strings(name: string): readonly string[] {
    const value = this.fields[name] ?? [];
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
    throw new BadBody(`${name} is no list of texts`);
  }

  /** an object of texts */
  texts(name: string): Readonly<Record<string, string>> {
    const value = this.fields[name] ?? {};
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && Object.values(value).every((item) => typeof item === "string"))
      return value as Record<string, string>;
    throw new BadBody(`${name} is no object of texts`);
  }

  list(name: string): readonly Body[] {
    const value = this.fields[name] ?? [];
    if (!Array.isArray(value)) throw new BadBody(`${name} is no list`);
    return value.map((item: unknown) => {
      if (typeof item === "object" && item !== null && !Array.isArray(item))
        return new Body(item as Record<string, unknown>);
      throw new BadBody(`${name} has something that is no object`);
    });
  }
}
