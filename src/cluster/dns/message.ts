import {
  AUTHORITATIVE_ANSWER,
  type DecodedPacket,
  type Answer as DnsRecord,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
} from "dns-packet";
import type { DnsAnswer, Rcode } from "./answer.js";

const RCODES: Readonly<Record<Rcode | "FORMERR" | "NOTIMP", number>> = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
};
const HEADER_BYTES = 12;
/** the most that a datagram holds without EDNS */
const PLAIN_UDP_BYTES = 512;
const MAX_UDP_BYTES = 4_096;
export const MAX_TCP_BYTES = 65_535;

export interface DnsQuery {
  readonly packet: DecodedPacket;
  readonly question: Question;
  /** the largest datagram that the client takes */
  readonly udpBytes: number;
}

/** A message that is not a question. */
export interface BadQuery {
  /** undefined: no answer */
  readonly reply: Buffer | undefined;
}

export function isQuery(query: DnsQuery | BadQuery): query is DnsQuery {
  return "question" in query;
}

/** Reads a query. An unreadable one gets a reply with FORMERR or NOTIMP; a message that is itself a reply gets no answer. */
export function decodeQuery(bytes: Buffer): DnsQuery | BadQuery {
  if (bytes.length < HEADER_BYTES || ((bytes[2] ?? 0) & 0x80) !== 0) return { reply: undefined };
  let packet: DecodedPacket;
  try {
    packet = decode(bytes);
  } catch {
    return { reply: failure(bytes, "FORMERR") };
  }
  if (opcodeOf(bytes) !== QUERY) return { reply: failure(bytes, "NOTIMP") };
  const [question, ...others] = packet.questions ?? [];
  if (question === undefined || others.length > 0) return { reply: failure(bytes, "FORMERR") };
  const options = packet.additionals?.find((one) => one.type === "OPT");
  const udpBytes =
    options?.type === "OPT"
      ? Math.min(Math.max(options.udpPayloadSize, PLAIN_UDP_BYTES), MAX_UDP_BYTES)
      : PLAIN_UDP_BYTES;
  return { packet, question, udpBytes };
}

const QUERY = 0;

function opcodeOf(bytes: Buffer): number {
  return ((bytes[2] ?? 0) >> 3) & 0x0f;
}

function failure(bytes: Buffer, rcode: "FORMERR" | "NOTIMP"): Buffer {
  return encode({ type: "response", id: bytes.readUInt16BE(0), flags: RCODES[rcode], questions: [] });
}

/**
 * Writes a reply of at most `maxBytes`. Records that do not fit are left out: first the additional ones, then answers,
 * which sets the truncation bit.
 */
export function encodeReply(query: DnsQuery, answer: DnsAnswer, maxBytes: number): Buffer {
  const { answers, additionals } = answer;
  const whole = encode(reply(query, answer, answers, additionals, false));
  if (whole.length <= maxBytes) return whole;
  const withoutExtra = encode(reply(query, answer, answers, [], false));
  if (withoutExtra.length <= maxBytes) return withoutExtra;
  for (let count = answers.length - 1; count > 0; count--) {
    const cut = encode(reply(query, answer, answers.slice(0, count), [], true));
    if (cut.length <= maxBytes) return cut;
  }
  return encode(reply(query, answer, [], [], true));
}

function reply(
  { packet, question }: DnsQuery,
  { rcode, isAuthoritative, authorities }: DnsAnswer,
  answers: readonly DnsRecord[],
  additionals: readonly DnsRecord[],
  isTruncated: boolean,
): Packet {
  const options = packet.additionals?.filter(({ type }) => type === "OPT") ?? [];
  return {
    type: "response",
    id: packet.id ?? 0,
    flags:
      RCODES[rcode] |
      (isAuthoritative ? AUTHORITATIVE_ANSWER : 0) |
      (isTruncated ? TRUNCATED_RESPONSE : 0) |
      (packet.flag_rd ? RECURSION_DESIRED : 0) |
      RECURSION_AVAILABLE,
    questions: [question],
    answers: [...answers],
    authorities: [...authorities],
    additionals: [...additionals, ...options.map(withoutOptions)],
  };
}

/** The reply repeats the size that the client takes, but none of its options. */
function withoutOptions(record: DnsRecord): DnsRecord {
  return record.type === "OPT" ? { ...record, options: [] } : record;
}
