/** The line of Node's report that names the error: `TypeError: x`, `TypeError [ERR_X]: x`, `DOMException [AbortError]: x`. */
const ERROR_LINE = /^(?:\w*Error|DOMException|UnhandledPromiseRejection)(?: \[\w+\])?: .*$/m;

/** Why a Node process ended. @returns the error that its stderr reports; undefined without one */
export function crashReason(stderr: string): string | undefined {
  return ERROR_LINE.exec(stderr)?.[0];
}
