import type { Status } from "../../apimachinery/api/meta.js";
import { type ByteReader, StreamError } from "../../streaming/bytes.js";
import { readBounded } from "../../streaming/read-bounded.js";
import { parseErrorStream } from "../../streaming/remote-command/status-text.js";

/** A Status has some hundred bytes, and with a runtime's message some thousand. */
const MAX_STATUS_BYTES = 1 << 20;

/**
 * Reads the result of a command. The error stream is complete when the server closes it, which it does after all output.
 * Mirrors client-go/tools/remotecommand/errorstream.go (watchErrorStream).
 * @throws StreamError without a Status
 */
export async function readStatus(errors: ByteReader | undefined, subprotocol: string): Promise<Status> {
  const { bytes, failure } = await readBounded(errors, MAX_STATUS_BYTES);
  // Some servers reset the connection after the result of the command.
  if (failure !== undefined && bytes.length === 0) throw failure;
  const text = bytes.toString();
  const status = parseErrorStream(text, subprotocol);
  if (status !== undefined) return status;
  if (text === "") throw new StreamError("the connection ended without a status");
  throw new StreamError(`the error stream does not carry a Status: ${text.slice(0, 200)}`);
}
