import { expect, test } from "vitest";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { TestEtcd } from "../../../../support/etcd.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { openStorage } from "./fixtures.js";

const PREFIX = "/registry/things/";

function thing(value: number): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name: "x" }, value };
}

/** The id in hexadecimal digits, and whether it is the leader: columns of etcdctl's table. */
async function statusOf(member: TestEtcd): Promise<{ readonly id: string; readonly isLeader: boolean }> {
  const [, id = "", , , isLeader] = (await member.ctl("endpoint", "status")).split(", ");
  return { id, isLeader: isLeader === "true" };
}

async function leaderOf(members: readonly TestEtcd[]): Promise<TestEtcd> {
  for (const member of members) if ((await statusOf(member)).isLeader) return member;
  throw new Error("no member is the leader");
}

suiteNeeding(["etcd"], "an etcd of three members", () => {
  test("when its leader moves, and when it is killed, writes go on and no watch has a gap", async () => {
    const members = await TestEtcd.startMembers(3);
    const { storage } = await openStorage({ servers: members.map(({ url }) => url) });
    const watching = new AbortController();
    try {
      const start = await storage.currentRevision();
      const seen: Record<string, number[]> = { [PREFIX]: [], "/registry/": [] };
      const watches = Object.entries(seen).map(async ([prefix, revisions]) => {
        for await (const { revision } of storage.watch(prefix, start, watching.signal)) revisions.push(revision);
      });
      const written: number[] = [];
      const write = async () => {
        const name = `${PREFIX}${written.length}`;
        // While there is no leader a write fails, and it may have been done.
        const entry = await storage.create(name, thing(written.length)).catch(() => undefined);
        const found = entry ?? (await storage.get(name).catch(() => undefined))?.entry;
        if (found !== undefined) written.push(found.modRevision);
        return found;
      };
      const writeMore = async () => {
        for (let i = 0; i < 5; i++) await expect.poll(write, { timeout: 30_000 }).toBeDefined();
      };
      await writeMore();
      const first = await leaderOf(members);
      const next = members.find((member) => member !== first) as TestEtcd;
      await first.ctl("move-leader", (await statusOf(next)).id);
      await writeMore();
      await (await leaderOf(members)).goDown();
      await writeMore();
      expect(new Set(written).size).toBe(15);
      for (const revisions of Object.values(seen))
        await expect.poll(() => revisions, { timeout: 30_000 }).toEqual(written);
      watching.abort();
      await Promise.all(watches);
    } finally {
      watching.abort();
      await storage.close();
      await Promise.all(members.map((member) => member.stop()));
    }
  });
});
