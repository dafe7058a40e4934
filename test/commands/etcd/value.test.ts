import { expect, test } from "vitest";
import { keyTable } from "../../../src/commands/etcd/value.js";

const KEY = "/registry/controllerrevisions/kube-system/kube-proxy-6f9c8b7d54";
const keys = [
  { key: KEY, createRevision: 12, modRevision: 40, version: 3 },
  { key: "/registry/events/a", createRevision: 7, modRevision: 7, version: 1, lease: "694d8f0a1" },
];

test("keys stand whole in a file, and are broken below themselves in a narrow terminal", () => {
  expect(keyTable(keys, Number.POSITIVE_INFINITY)).toEqual([
    "CREATE  MOD  VERSION  KEY",
    `12      40   3        ${KEY}`,
    "7       7    1        /registry/events/a (lease 694d8f0a1)",
  ]);
  const narrow = keyTable(keys, 60);
  expect(Math.max(...narrow.map(({ length }) => length))).toBeLessThanOrEqual(60);
  expect(narrow.slice(1, 3).map((line) => line.slice(22))).toEqual([
    "/registry/controllerrevisions/kube-",
    "system/kube-proxy-6f9c8b7d54",
  ]);
});
