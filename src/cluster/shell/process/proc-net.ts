import type { DirectoryNode } from "../fs/nodes.js";
import { fixedFolder, virtualFile } from "../fs/virtual-nodes.js";
import type { NetworkNamespace } from "./network-namespace.js";
import type { OpenSocket, SocketAddress } from "./ports.js";

const ESTABLISHED = "01";
const CLOSE = "07";
const LISTEN = "0A";
/** The mask of the node's pod CIDR, as the kernel prints it. */
const MASK = "00FFFFFF";

/** /proc/PID/net. Differs: packets are not counted, and IPv6 has no sockets. @param network undefined: not simulated */
export function netFolder(network: NetworkNamespace | undefined, nowMs: number): DirectoryNode {
  const files = {
    dev: () => devText(network),
    route: () => routeText(network?.ip),
    tcp: () => socketsText(network, "tcp"),
    tcp6: () => SOCKET_HEAD,
    udp: () => socketsText(network, "udp"),
    udp6: () => SOCKET_HEAD,
  };
  const nodes = Object.entries(files).map(([name, text]) => [name, () => virtualFile(nowMs, text())]);
  return fixedFolder(nowMs, Object.fromEntries(nodes));
}

const SOCKET_HEAD =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

/** Mirrors get_tcp4_sock in Linux's net/ipv4/tcp_ipv4.c. */
function socketsText(network: NetworkNamespace | undefined, protocol: OpenSocket["protocol"]): string {
  const rows = (network?.ports.sockets ?? []).filter((socket) => socket.protocol === protocol);
  const lines = rows.map(({ local, peer }, at) => {
    const state = peer !== undefined ? ESTABLISHED : protocol === "tcp" ? LISTEN : CLOSE;
    const ends = `${addressText(local)} ${addressText(peer ?? { ip: "0.0.0.0", port: 0 })}`;
    return `${String(at).padStart(4)}: ${ends} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${at + 1}\n`;
  });
  return SOCKET_HEAD + lines.join("");
}

/** `0100007F:1F90`: the address as a little-endian number */
function addressText({ ip, port }: SocketAddress): string {
  return `${hexOf(ip)}:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

function hexOf(ip: string): string {
  const bytes = ip.split(".").map((part) => Number(part).toString(16).toUpperCase().padStart(2, "0"));
  return bytes.length === 4 ? bytes.reverse().join("") : "00000000";
}

function devText(network: NetworkNamespace | undefined): string {
  const zeros = (count: number) => " 0".repeat(count);
  const names = network?.ip === undefined ? ["lo"] : ["lo", "eth0"];
  const head =
    "Inter-|   Receive                                                |  Transmit\n" +
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n";
  return head + names.map((name) => `${name.padStart(6)}:${zeros(16)}\n`).join("");
}

function routeText(ip: string | undefined): string {
  const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
  if (ip === undefined) return head;
  const at = (last: number) => hexOf(ip.replace(/\d+$/, String(last)));
  const row = (to: string, gateway: string, flags: string, mask: string) =>
    `eth0\t${to}\t${gateway}\t${flags}\t0\t0\t0\t${mask}\t0\t0\t0\n`;
  return head + row("00000000", at(1), "0003", "00000000") + row(at(0), "00000000", "0001", MASK);
}
