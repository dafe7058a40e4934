import { redactBody } from "../../../trace/redaction/redact-body.js";
import type { Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";

/** Longer bodies are left out of the trace. */
const MAX_BYTES = 128 * 1024;

/** What a client that reports no facts sent and got, for the fact that the API server reports about its request. */
export class SeenBodies {
  #sent: unknown;
  #got: unknown;

  /** @param value the meaning of the bytes, if they are not JSON */
  sent(bytes: Buffer, value?: unknown): void {
    this.#sent = shortened(bytes, value);
  }

  /** @param value the meaning of the text, if it is not JSON */
  got(text: string | Buffer | { readonly length: number }, value?: unknown): void {
    this.#got ??= shortened(text, value);
  }

  /**
   * The bodies without secrets; without those that are too long or in no known format.
   * @param path determines which fields are secret
   */
  masked(trace: Trace, path: string): { readonly requestBody?: unknown; readonly responseBody?: unknown } {
    const mask = (body: unknown) => {
      const value = parsed(body);
      if (value === undefined) return undefined;
      trace.secrets.learnBody(path, value);
      return redactBody(value, path);
    };
    return defined({ requestBody: mask(this.#sent), responseBody: mask(this.#got) });
  }
}

function shortened(text: { readonly length: number }, value: unknown): unknown {
  return text.length > MAX_BYTES ? undefined : (value ?? text);
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string" && !Buffer.isBuffer(body)) return body;
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}
