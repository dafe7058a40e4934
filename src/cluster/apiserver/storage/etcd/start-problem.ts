import { LabError, type LabErrorCode } from "../../../../util/errors.js";
import type { GrpcCode } from "../../../../util/net/grpc-codes.js";
import type { EtcdConfig } from "./config.js";
import { EtcdError } from "./errors.js";

/** Why etcd cannot be used, if the problems of all servers are of this kind. */
interface Kind {
  is(error: EtcdError): boolean;
  readonly code: LabErrorCode;
  readonly what: string;
  readonly hint: string;
}

/** What etcd answers once it has users: `user name is empty`, `permission denied`. */
const REFUSALS: ReadonlySet<GrpcCode> = new Set(["InvalidArgument", "PermissionDenied", "Unauthenticated"]);
const NO_ISSUER = /unable to (?:verify|get .*issuer)|self.signed/i;
const CLIENT_REFUSED = /alert (?:bad certificate|certificate|unknown ca|handshake failure)/i;
const NO_TLS = /before secure TLS|wrong version number|SSL|TLS/i;
/** A server that closes with bytes unread resets the connection: whether it had read all of the first ones is chance. */
const RESET = /\b(?:ECONNRESET|EPIPE)$/;

const USER_HINT =
  "A user of etcd is the common name of a client certificate: --etcd-certfile and --etcd-keyfile. Its role needs all keys.";
const ROOM_HINT = "Give it room (etcdctl compact, then defrag), then end the alarm: etcdctl alarm disarm.";

/** The first that fits counts. */
function kindsOf({ caFile, certFile }: EtcdConfig): readonly Kind[] {
  const ca = caFile === undefined ? "a CA that is trusted here" : `the CA in ${caFile}`;
  const notTrusted = "CLUSTER_NOT_TRUSTED";
  return [
    { is: ({ code }) => REFUSALS.has(code), code: "FORBIDDEN", what: "etcd refuses", hint: USER_HINT },
    // `etcdserver: mvcc: database space exceeded`, as long as the alarm is on
    { is: ({ code }) => code === "ResourceExhausted", code: "REFUSED", what: "etcd has no room", hint: ROOM_HINT },
    {
      is: ({ details }) => NO_ISSUER.test(details),
      code: notTrusted,
      what: `etcd's certificate is not signed by ${ca}`,
      hint: "Name the file with its CA: --etcd-cafile.",
    },
    {
      is: ({ details }) => CLIENT_REFUSED.test(details),
      code: notTrusted,
      what:
        certFile === undefined ? "etcd asks for a client certificate" : `etcd refuses the certificate in ${certFile}`,
      hint: "Name one of the CA of etcd's clients: --etcd-certfile, with --etcd-keyfile.",
    },
    {
      is: ({ details }) => /certificate|altnames/i.test(details),
      code: notTrusted,
      what: "etcd's certificate is not accepted",
      hint: "It must be valid now, and for the address that --etcd names.",
    },
    {
      is: ({ server, details }) =>
        server.startsWith("http:") && (details.endsWith("Failed to connect") || RESET.test(details)),
      code: notTrusted,
      what: "etcd ends the connection",
      hint: "If it serves TLS, name it with https://, and its CA with --etcd-cafile.",
    },
    {
      is: ({ details }) => NO_TLS.test(details) || RESET.test(details),
      code: notTrusted,
      what: "etcd does not answer with TLS",
      hint: "An etcd without TLS is http://.",
    },
    {
      is: ({ code }) => code !== "Unavailable" && code !== "DeadlineExceeded",
      code: "REFUSED",
      what: "etcd refuses",
      hint: "These are etcd's words; its log may say more.",
    },
  ];
}

const UNREACHABLE: Omit<Kind, "is"> = {
  code: "CLUSTER_UNREACHABLE",
  what: "etcd does not answer",
  hint: "Start etcd, or name another server with --etcd; one with TLS is https://.",
};

/** @param problems of the servers that were asked @returns a LabError; what is no error of etcd as it is */
export function startProblem(config: EtcdConfig, problems: readonly unknown[], cause: unknown): unknown {
  const bug = problems.find((one) => !(one instanceof EtcdError));
  if (bug !== undefined) return bug;
  const errors = problems as readonly EtcdError[];
  const { code, what, hint } = kindsOf(config).find(({ is }) => errors.every(is)) ?? UNREACHABLE;
  const text = errors.map(({ server, details }) => `${server}: ${details}`).join("; ");
  return new LabError(code, `${what}: ${text}`, hint, { cause });
}
