import { expect, test } from "vitest";
import { EventNames } from "../../../src/staging/client-go/record/reference.js";

test("event names never repeat: in one component, and in two that record in the same millisecond", () => {
  const [one, other] = [new EventNames("endpoint-controller"), new EventNames("endpoint-slice-controller")];
  const names = [one, one, other, other, one].map((of) => of.next("web", 1_767_225_600_000));
  expect(new Set(names).size).toBe(5);
  expect(names.every((name) => /^web\.[0-9a-f]{16}$/.test(name))).toBe(true);
});
