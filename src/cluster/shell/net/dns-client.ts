import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  RECURSION_DESIRED,
  type RecordType,
  TRUNCATED_RESPONSE,
} from "dns-packet";
import { NetError } from "../../../util/net/net-error.js";
import type { SocketAddress } from "../process/ports.js";
import type { Self } from "../process/process.js";
import { readAll } from "../streams.js";
import { deadline } from "./deadline.js";

export interface DnsQuery {
  readonly name: string;
  readonly type: RecordType;
  readonly useTcp?: boolean;
  /** how long each try waits for its answer */
  readonly timeoutMs: number;
}

/** The answer of a name server. */
export interface DnsAnswer {
  /** `NOERROR`, `NXDOMAIN`, `SERVFAIL` */
  readonly rcode: string;
  readonly answers: readonly Answer[];
  readonly authorities: readonly Answer[];
  readonly isAuthoritative: boolean;
  readonly id: number;
  readonly byteCount: number;
  readonly protocol: "UDP" | "TCP";
}

const HEADER_BYTES = 12;
const RCODE_MASK = 0xf;
const RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];

/**
 * Asks a name server, by UDP and after a truncated answer by TCP.
 * @returns undefined if there was no answer in time
 * @throws NetError if the server cannot be reached; the signal's reason
 */
export async function askNameServer(
  self: Self,
  server: SocketAddress,
  query: DnsQuery,
  signal: AbortSignal,
): Promise<DnsAnswer | undefined> {
  const id = self.machine.random.bytes(2).readUInt16BE();
  const question = { type: query.type, name: query.name.replace(/\.$/, "") };
  const bytes = encode({ type: "query", id, flags: RECURSION_DESIRED, questions: [question] });
  using limit = deadline(self.machine.clock, query.timeoutMs, signal);
  try {
    const overUdp =
      query.useTcp === true ? undefined : await self.machine.network.sendDatagram(server, bytes, limit.signal);
    if (overUdp !== undefined && (overUdp.readUInt16BE(2) & TRUNCATED_RESPONSE) === 0)
      return readAnswer(overUdp, id, "UDP");
    // A lost datagram is not answered, so only a timeout shows it.
    if (overUdp === undefined && query.useTcp !== true)
      return await self.machine.clock.sleep(query.timeoutMs, limit.signal).then(() => undefined);
    const overTcp = await exchangeTcp(self, server, bytes, limit.signal);
    return overTcp === undefined ? undefined : readAnswer(overTcp, id, "TCP");
  } catch (error) {
    if (limit.isOver) return undefined;
    throw error;
  }
}

async function exchangeTcp(
  self: Self,
  server: SocketAddress,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const { incoming, outgoing } = await self.machine.network.connect(server, signal);
  try {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    await outgoing.write(Buffer.concat([length, bytes]), signal);
    outgoing.release();
    const answer = await readAll(incoming, signal, self);
    const end = answer.length < 2 ? 0 : 2 + answer.readUInt16BE(0);
    return end > 2 && answer.length >= end ? answer.subarray(2, end) : undefined;
  } finally {
    outgoing.release();
    incoming.release();
  }
}

/** @returns undefined if it does not answer the query */
function readAnswer(bytes: Buffer, id: number, protocol: "UDP" | "TCP"): DnsAnswer | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  try {
    const packet = decode(bytes);
    const flags = packet.flags ?? 0;
    if (packet.id !== id || packet.type !== "response") return undefined;
    return {
      rcode: RCODES[flags & RCODE_MASK] ?? `RCODE${flags & RCODE_MASK}`,
      answers: packet.answers ?? [],
      authorities: packet.authorities ?? [],
      isAuthoritative: (flags & AUTHORITATIVE_ANSWER) !== 0,
      id,
      byteCount: bytes.length,
      protocol,
    };
  } catch (error) {
    if (error instanceof NetError) throw error;
    return undefined; // not a DNS message
  }
}
