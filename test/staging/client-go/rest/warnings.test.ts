import { expect, test } from "vitest";
import { warningHeaders } from "../../../../src/cluster/apiserver/endpoints/responsewriters/warnings.js";
import { warningsIn } from "../../../../src/staging/client-go/rest/warnings.js";

const TEXTS: readonly (readonly string[])[] = [[], ["plain"], ['with "quotes", and a \\', "second"], ["警告"]];

test.each(TEXTS)("the texts of %j come back from the joined headers", (...texts) => {
  expect(warningsIn(warningHeaders(texts).join(", "))).toEqual(texts);
});

test.each([undefined, "", '199 - "other code"', "299 - no quotes", '299 - "open'])("%j has none", (header) => {
  expect(warningsIn(header)).toEqual([]);
});
