import { baseName } from "../../fs/paths.js";
import { hardwareAddress } from "../../process/network-namespace.js";
import { ANY, type SocketAddress } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import { isProcess } from "../../process/process-table.js";
import { complain, fail, parseArgs, print, usage } from "../console.js";
import { mayAdministerNetwork } from "../kernel.js";

/** Programs that show a pod's network, as busybox prints it. Differs: packets are not counted, so no line shows them. */

/** The bits of a pod's subnet: the node's pod CIDR. */
const PREFIX = 24;
const MASK = "255.255.255.0";

interface Interface {
  readonly name: string;
  readonly ip: string;
  readonly lines: readonly string[];
}

function interfacesOf({ machine }: Self): readonly Interface[] {
  const lo = [
    "lo        Link encap:Local Loopback  ",
    "          inet addr:127.0.0.1  Mask:255.0.0.0",
    "          UP LOOPBACK RUNNING  MTU:65536  Metric:1",
  ];
  const { ip } = machine.network;
  if (ip === undefined) return [{ name: "lo", ip: "127.0.0.1", lines: lo }];
  const eth0 = [
    `eth0      Link encap:Ethernet  HWaddr ${hardwareAddress(ip).toUpperCase()}  `,
    `          inet addr:${ip}  Bcast:${inSubnet(ip, 255)}  Mask:${MASK}`,
    "          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1",
  ];
  return [
    { name: "eth0", ip, lines: eth0 },
    { name: "lo", ip: "127.0.0.1", lines: lo },
  ];
}

/** The address of the same subnet with this last number. */
function inSubnet(ip: string, last: number): string {
  return ip.replace(/\d+$/, String(last));
}

/** `ifconfig [-a] [INTERFACE]` */
export async function ifconfig(self: Self): Promise<number> {
  const { rest, unknown } = parseArgs(self.argv.slice(1), "a");
  if (unknown !== undefined) return usage(self, unknown);
  const [wanted, ...change] = rest;
  if (change.length > 0) {
    await complain(self, "SIOCSIFADDR: Operation not permitted");
    return 1;
  }
  const shown = interfacesOf(self).filter(({ name }) => wanted === undefined || name === wanted);
  if (shown.length === 0) {
    await complain(self, `${wanted}: error fetching interface information: Device not found`);
    return 1;
  }
  await print(self, shown.map(({ lines }) => `${lines.join("\n")}\n\n`).join(""));
  return 0;
}

/** `route [-ne]` */
export async function route(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "ne");
  if (unknown !== undefined) return usage(self, unknown);
  if (rest.length > 0) {
    await complain(self, "SIOCADDRT: Operation not permitted");
    return 1;
  }
  const [numbers, titles] = options.has("e") ? WITH_WINDOWS : WITH_METRICS;
  await print(self, routeTable(self, numbers, titles, options.has("n")));
  return 0;
}

/** What `route` shows of each route, and its titles. */
const WITH_METRICS = ["0      0        0", "Metric Ref    Use"] as const;
/** The same of `route -e` and `netstat -r`. */
const WITH_WINDOWS = ["    0 0          0", "  MSS Window  irtt"] as const;

/** @param numbers of each route @param titles of them @param isNumeric without words for the address of all */
function routeTable({ machine: { network } }: Self, numbers: string, titles: string, isNumeric: boolean): string {
  const row = (to: string, gateway: string, mask: string, flags: string) =>
    `${to.padEnd(15)} ${gateway.padEnd(15)} ${mask.padEnd(15)} ${flags.padEnd(5)} ${numbers} eth0\n`;
  const { ip } = network;
  const rows =
    ip === undefined
      ? ""
      : row(isNumeric ? ANY : "default", inSubnet(ip, 1), ANY, "UG") +
        row(inSubnet(ip, 0), isNumeric ? ANY : "*", MASK, "U");
  return `Kernel IP routing table\nDestination     Gateway         Genmask         Flags ${titles} Iface\n${rows}`;
}

/** `netstat [-ltunapr]`: the sockets of the pod. Differs: -p shows no process of a container with other PIDs. */
export async function netstat(self: Self): Promise<number> {
  const { options, unknown } = parseArgs(self.argv.slice(1), "laentuwxrp");
  if (unknown !== undefined) return usage(self, unknown);
  if (options.has("r")) {
    await print(self, routeTable(self, ...WITH_WINDOWS, options.has("n")));
    return 0;
  }
  const both = !options.has("t") && !options.has("u");
  const [all, listening] = [options.has("a"), options.has("l")];
  const text = ({ ip, port }: SocketAddress) => `${ip}:${port || "*"}`.padEnd(23);
  const rows = self.machine.network.ports.sockets
    .filter(({ protocol }) => both || options.has(protocol.charAt(0)))
    .filter(({ peer }) => all || listening === (peer === undefined))
    .map(({ protocol, local, peer, owner }) => {
      const state = peer !== undefined ? "ESTABLISHED" : protocol === "tcp" ? "LISTEN" : "";
      const task = owner === undefined ? undefined : self.machine.processes.find(owner.pid);
      const isSeen = task !== undefined && isProcess(task) && task.machine === owner?.machine;
      const program = isSeen ? `${owner?.pid}/${baseName(owner?.argv[0] ?? "")}` : "-";
      const shown = options.has("p") ? program : "";
      return `${protocol}        0      0 ${text(local)} ${text(peer ?? { ip: ANY, port: 0 })} ${state.padEnd(12)}${shown}\n`;
    });
  const which = all ? "servers and established" : listening ? "only servers" : "w/o servers";
  const title = options.has("p") ? "PID/Program name    " : "";
  const head = `Active Internet connections (${which})\nProto Recv-Q Send-Q Local Address           Foreign Address         State       ${title}\n`;
  await print(self, head + rows.join(""));
  return 0;
}

/** `ip addr`, `ip link`, `ip route`; `ip link add NAME type TYPE`. Differs: links are not created; only the permission is checked. */
export async function ip(self: Self): Promise<number> {
  const [object = "", action = "show"] = self.argv.slice(1).filter((word) => !word.startsWith("-"));
  if (["add", "del", "delete", "set", "change", "flush"].includes(action)) {
    if (mayAdministerNetwork(self)) return 0;
    await complain(self, "RTNETLINK answers: Operation not permitted");
    return 2;
  }
  const { ip: address } = self.machine.network;
  if (/^(r|ro|route)$/.test(object)) {
    if (address === undefined) return 0;
    const own = `${inSubnet(address, 0)}/${PREFIX} dev eth0 scope link  src ${address} `;
    await print(self, `default via ${inSubnet(address, 1)} dev eth0 \n${own}\n`);
    return 0;
  }
  if (!/^(a|addr|address|l|link)$/.test(object)) return fail(self, `OBJECT "${object}" is not supported here`);
  const lines = [
    "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue qlen 1000",
    "    inet 127.0.0.1/8 scope host lo",
    "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue",
    ...(address === undefined ? [] : [`    inet ${address}/${PREFIX} scope global eth0`]),
  ];
  const shown = object.startsWith("a") ? lines : lines.filter((line) => !line.startsWith(" "));
  await print(self, `${shown.join("\n")}\n`);
  return 0;
}
