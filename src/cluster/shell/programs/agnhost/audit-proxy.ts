import { parseJson } from "../../../../staging/apimachinery/scheme/json-syntax.js";
import { isRecord } from "../../../../util/records.js";
import type { Self } from "../../process/process.js";
import { print } from "../console.js";
import { goLog } from "./go-log.js";
import { bodyOf, listenAndServe } from "./web.js";

const API_VERSION = "audit.k8s.io/v1";

/** `audit-proxy`: prints each audit event that an API server's audit webhook sends. Mirrors test/images/agnhost/audit-proxy. */
export async function auditProxy(self: Self): Promise<number> {
  return listenAndServe(self, 8080, async ({ request, answer }) => {
    const body = Buffer.from(await bodyOf(request), "latin1");
    const events = eventsOf(body.toString());
    if (events === undefined) {
      await goLog(
        self,
        `failed decoding buf: [${[...body].map((byte) => byte.toString(2)).join(" ")}], apiVersion: ${API_VERSION}`,
      );
      return answer(500, "");
    }
    for (const event of events)
      await print(self, `${JSON.stringify({ kind: "Event", apiVersion: API_VERSION, ...event })}\n`);
    answer(200, "");
  });
}

/** @returns the events of an EventList; undefined for another text */
function eventsOf(text: string): readonly object[] | undefined {
  try {
    const list = parseJson(text, Error);
    if (!isRecord(list) || list["kind"] !== "EventList" || list["apiVersion"] !== API_VERSION) return undefined;
    const { items } = list;
    return Array.isArray(items) ? items.filter(isRecord) : [];
  } catch {
    return undefined; // not JSON
  }
}
