import type { Answer, RecordType } from "dns-packet";
import { NetError } from "../../../../util/net/net-error.js";
import { askNameServer, type DnsAnswer } from "../../net/dns-client.js";
import { namesToTry, readResolvConf } from "../../net/resolv-conf.js";
import { reverseName } from "../../net/resolver.js";
import type { Self } from "../../process/process.js";
import { print } from "../console.js";
import { recordText } from "./dns-text.js";

const TYPES = ["A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"] as const satisfies readonly RecordType[];
const VERSION = "9.18.24";

interface Plan {
  readonly name: string;
  readonly type: RecordType;
  readonly server: string | undefined;
  readonly flags: ReadonlyMap<string, string>;
}

/** `dig [@SERVER] [-x ADDRESS] NAME [TYPE] [+short] [+search] [+tcp] [+noall +answer] [+time=S] [+tries=N]` */
export async function dig(self: Self): Promise<number> {
  const plan = parse(self.argv.slice(1));
  const conf = readResolvConf(self);
  const server = plan.server ?? conf.nameservers[0] ?? "127.0.0.1";
  const isSet = (name: string) => plan.flags.has(name);
  const names = isSet("search") ? namesToTry(plan.name, conf) : [plan.name.replace(/\.$/, "")];
  const timeoutMs = Number(plan.flags.get("time") ?? conf.timeoutMs / 1_000) * 1_000;
  const tries = Number(plan.flags.get("tries") ?? 3);
  let answer: DnsAnswer | undefined;
  let asked = plan.name;
  for (const name of names) {
    asked = name;
    answer = undefined;
    for (let count = 0; count < tries && answer === undefined; count++) {
      const query = { name, type: plan.type, useTcp: isSet("tcp"), timeoutMs };
      try {
        answer = await askNameServer(self, { ip: server, port: 53 }, query, self.signal);
      } catch (error) {
        if (!(error instanceof NetError)) throw error;
        await say(self, `;; communications error to ${server}#53: ${error.message.toLowerCase()}\n`);
      }
    }
    if (answer === undefined || answer.answers.length > 0) break;
  }
  if (answer === undefined) {
    await print(self, ";; no servers could be reached\n");
    return 9;
  }
  await print(
    self,
    isSet("short") ? shortText(answer) : longText(answer, asked, plan, server, self.machine.clock.now()),
  );
  return 0;
}

async function say(self: Self, text: string): Promise<void> {
  await print(self, text);
}

function parse(args: readonly string[]): Plan {
  const flags = new Map<string, string>();
  let name: string | undefined;
  let type: RecordType = "A";
  let server: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    const known = TYPES.find((one) => one === arg.toUpperCase());
    if (arg.startsWith("+")) {
      const [flag = "", value = ""] = arg.slice(1).split("=");
      // `+noall` and `+notcp` undo the options without "no".
      if (flag.startsWith("no")) flags.delete(flag.slice(2));
      else flags.set(flag, value);
      if (flag === "noall") flags.set("noall", "");
    } else if (arg.startsWith("@")) server = arg.slice(1);
    else if (arg === "-x") {
      name = reverseName(args[++at] ?? "");
      type = "PTR";
    } else if (arg === "-t") {
      type = TYPES.find((one) => one === (args[++at] ?? "").toUpperCase()) ?? type;
    } else if (arg.startsWith("-")) continue;
    else if (known !== undefined) type = known;
    else name ??= arg;
  }
  return { name: name ?? ".", type, server, flags };
}

function shortText({ answers }: DnsAnswer): string {
  return answers.map((one) => `${recordText(one, ".")}\n`).join("");
}

function longText(answer: DnsAnswer, name: string, { type, flags }: Plan, server: string, nowMs: number): string {
  const records = answer.answers.map((one) => `${recordLine(one)}\n`).join("");
  if (flags.has("noall")) return flags.has("answer") ? records : "";
  const { rcode, id, isAuthoritative, byteCount, protocol, authorities } = answer;
  const marks = ["qr", ...(isAuthoritative ? ["aa"] : []), "rd", "ra"].join(" ");
  const counts = `QUERY: 1, ANSWER: ${answer.answers.length}, AUTHORITY: ${authorities.length}, ADDITIONAL: 0`;
  return [
    `\n; <<>> DiG ${VERSION} <<>> ${name} ${type}`,
    ";; global options: +cmd",
    ";; Got answer:",
    `;; ->>HEADER<<- opcode: QUERY, status: ${rcode}, id: ${id}`,
    `;; flags: ${marks}; ${counts}\n`,
    `;; QUESTION SECTION:\n;${name}.\t\tIN\t${type}\n`,
    ...(answer.answers.length === 0 ? [] : [`;; ANSWER SECTION:\n${records}`]),
    ...(authorities.length === 0
      ? []
      : [`;; AUTHORITY SECTION:\n${authorities.map((one) => `${recordLine(one)}\n`).join("")}`]),
    ";; Query time: 0 msec",
    `;; SERVER: ${server}#53(${server}) (${protocol})`,
    `;; WHEN: ${new Date(nowMs).toUTCString()}`,
    `;; MSG SIZE  rcvd: ${byteCount}\n`,
    "",
  ].join("\n");
}

function recordLine(record: Answer): string {
  const ttl = "ttl" in record ? (record.ttl ?? 0) : 0;
  return `${record.name}.\t${ttl}\tIN\t${record.type}\t${recordText(record, ".")}`;
}
