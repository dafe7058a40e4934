/** What was asked for cannot be done as it was written. Its message is for who wrote it: one sentence. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";

  constructor(
    message: string,
    /** `containers[0].image`, where it is about one */
    readonly field?: string,
    /** 400, 413, 415 */
    readonly status = 400,
  ) {
    super(message);
  }
}

/** `did you mean delayMs? ` where there is something like it. */
export function suggestion(like: string | undefined): string {
  return like === undefined ? "" : `did you mean ${like}? `;
}
