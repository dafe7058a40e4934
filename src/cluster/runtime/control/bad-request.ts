/** The request is wrong. The message is one sentence for its sender. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";

  constructor(
    message: string,
    /** `containers[0].image`, if the message is about one field */
    readonly field?: string,
    /** 400, 404, 405, 413, 415 */
    readonly status = 400,
  ) {
    super(message);
  }
}

/** `did you mean delayMs? `, or an empty text if no name is similar. */
export function suggestion(like: string | undefined): string {
  return like === undefined ? "" : `did you mean ${like}? `;
}

const MAX_SHOWN = 60;

/** A value as JSON, cut if it is long. */
export function shown(value: unknown): string {
  const whole = JSON.stringify(value) ?? String(value);
  return whole.length <= MAX_SHOWN ? whole : `${whole.slice(0, MAX_SHOWN)}...`;
}
