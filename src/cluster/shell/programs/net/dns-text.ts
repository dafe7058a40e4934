import type { Answer } from "dns-packet";

/** The data of a record as dig prints it. Names end with a dot there; `nslookup` leaves it out. */
export function recordText(record: Answer, dot = ""): string {
  switch (record.type) {
    case "A":
    case "AAAA":
      return record.data;
    case "CNAME":
    case "DNAME":
    case "NS":
    case "PTR":
      return `${record.data}${dot}`;
    case "SRV": {
      const { priority = 0, weight = 0, port, target } = record.data;
      return `${priority} ${weight} ${port} ${target}${dot}`;
    }
    case "SOA": {
      const { mname, rname, serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0 } = record.data;
      return `${mname}${dot} ${rname}${dot} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
    }
    case "TXT":
      return [record.data]
        .flat()
        .map((one) => JSON.stringify(String(one)))
        .join(" ");
    default:
      return "";
  }
}
