import { isIPv4 } from "node:net";
import type { Answer, RecordType } from "dns-packet";
import { readResolvConf } from "../../net/resolv-conf.js";
import { ask, reverseName, search } from "../../net/resolver.js";
import type { Self } from "../../process/process.js";
import { fail, print, usage } from "../console.js";
import { recordText } from "./dns-text.js";

const TYPES: Readonly<Record<string, RecordType>> = {
  a: "A",
  aaaa: "AAAA",
  any: "A",
  cname: "CNAME",
  mx: "MX",
  ns: "NS",
  ptr: "PTR",
  soa: "SOA",
  srv: "SRV",
  txt: "TXT",
};

/**
 * `nslookup [-type=TYPE] HOST [SERVER]`, with busybox 1.28's output, which follows the search domains of resolv.conf for every
 * name. Differs: /etc/hosts is not read; with -type the records are shown as newer ones show them.
 */
export async function nslookup(self: Self): Promise<number> {
  const args = self.argv.slice(1);
  const typeText = args.map((arg) => /^-(?:type|querytype|q)=(.*)$/.exec(arg)?.[1]).find((one) => one !== undefined);
  const type = typeText === undefined ? undefined : TYPES[typeText.toLowerCase()];
  const [host, server] = args.filter((arg) => !arg.startsWith("-"));
  if (host === undefined || (typeText !== undefined && type === undefined)) {
    return host === undefined ? usage(self) : fail(self, `invalid query type "${typeText}"`);
  }
  const nameserver = server ?? readResolvConf(self).nameservers[0] ?? "127.0.0.1";
  const options = { nameservers: [nameserver] };
  await print(self, `Server:    ${nameserver}\nAddress 1: ${await withName(self, nameserver, options)}\n\n`);
  if (type !== undefined && type !== "A") return showRecords(self, host, type, options);
  const addresses = isIPv4(host) ? [host] : await addressesOf(self, host, options);
  if (addresses.length === 0) {
    await self.stderr.write(Buffer.from(`nslookup: can't resolve '${host}'\n`), self.signal);
    return 1;
  }
  const lines = await Promise.all(
    addresses.map(async (ip, at) => `Address ${at + 1}: ${await withName(self, ip, options)}\n`),
  );
  await print(self, `Name:      ${host}\n${lines.join("")}`);
  return 0;
}

type Options = Parameters<typeof search>[3];

async function addressesOf(self: Self, host: string, options: Options): Promise<readonly string[]> {
  const { answers } = await search(self, host, "A", options, self.signal);
  return answers.flatMap((one) => (one.type === "A" ? [one.data] : []));
}

/** The address and its name, if it has one. */
async function withName(self: Self, ip: string, options: Options): Promise<string> {
  if (!isIPv4(ip)) return ip;
  const { answers } = await ask(self, reverseName(ip), "PTR", options, self.signal);
  const [name] = answers.flatMap((one) => (one.type === "PTR" ? [one.data] : []));
  return name === undefined ? ip : `${ip} ${name}`;
}

async function showRecords(self: Self, host: string, type: RecordType, options: Options): Promise<number> {
  const asked = type === "PTR" && isIPv4(host) ? `${reverseName(host)}.` : host;
  const { answers, rcode, name } = await search(self, asked, type, options, self.signal);
  const shown = answers.filter((one) => one.type === type || one.type === "CNAME");
  if (shown.length > 0) {
    await print(self, shown.map((one) => `${lineOf(one)}\n`).join(""));
    return 0;
  }
  const why =
    rcode === "NOERROR" ? `*** Can't find ${name}: No answer` : `** server can't find ${name}: ${rcode ?? "timed out"}`;
  await print(self, `${why}\n`);
  return 1;
}

function lineOf(record: Answer): string {
  const words: Partial<Record<RecordType, string>> = {
    CNAME: "canonical name",
    PTR: "name",
    SRV: "service",
    TXT: "text",
  };
  return `${record.name}\t${words[record.type] ?? record.type} = ${recordText(record)}`;
}
