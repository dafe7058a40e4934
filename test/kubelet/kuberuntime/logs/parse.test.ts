import assert from "node:assert/strict";
import { test } from "vitest";
import { parseLogTime } from "../../../../src/kubelet/kuberuntime/logs/log-time.js";
import { parseCriLog, parseDockerJsonLog, parserFor } from "../../../../src/kubelet/kuberuntime/logs/parse.js";

const AT = "2026-01-02T03:04:05.000000006Z";

const criLines = [
  // line                              what is read
  [`${AT} stdout F text\n`, "stdout: text\n"],
  [`${AT} stderr F two words\n`, "stderr: two words\n"],
  [`${AT} stdout P part\n`, "stdout: part"],
  [`${AT} stdout P:x part\n`, "stdout: part"],
  [`${AT} stdout F:x whole\n`, "stdout: whole\n"],
  [`${AT} stdout PX whole\n`, "stdout: whole\n"],
  [`${AT} stdout F \n`, "stdout: \n"],
  [`${AT} stdout F no line feed`, "stdout: no line feed"],
  ["2026-01-02T03:04:05+02:00 stdout F x\n", "stdout: x\n"],
  ["nothing\n", "timestamp is not found"],
  ["yesterday stdout F x\n", 'unexpected timestamp format "2006-01-02T15:04:05.999999999Z07:00"'],
  ["2026-02-31T00:00:00Z stdout F x\n", 'unexpected timestamp format "2006-01-02T15:04:05.999999999Z07:00"'],
  [`${AT} stdout\n`, "stream type is not found"],
  [`${AT} stdlog F x\n`, 'unexpected stream type "stdlog"'],
  [`${AT} stdout F\n`, "log tag is not found"],
] as const;

for (const [line, want] of criLines) {
  test(`logs: the CRI's format: ${JSON.stringify(line)} is ${JSON.stringify(want)}`, () => {
    assert.equal(shown(parseCriLog(Buffer.from(line))), want);
  });
}

const jsonLines = [
  ['{"log":"text\\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"}\n', "stdout: text\n"],
  ['{"log":"ä","stream":"stderr","time":"2016-10-20T18:39:20Z"}', "stderr: ä"],
  ['{"log":"x","stream":"stdlog","time":"2016-10-20T18:39:20Z"}', 'unexpected stream type "stdlog"'],
  ['{"log":1,"stream":"stdout","time":"2016-10-20T18:39:20Z"}', "its log is not a string"],
  ['{"log":"x","stream":"stdout"}', "it has no time"],
  ["text", "it is not a JSON object"],
] as const;

for (const [line, want] of jsonLines) {
  test(`logs: Docker's format: ${line.trim()} is ${JSON.stringify(want)}`, () => {
    assert.equal(shown(parseDockerJsonLog(Buffer.from(line))), want);
  });
}

test("logs: the error for half a JSON object", () => {
  assert.match(shown(parseDockerJsonLog(Buffer.from('{"log":'))), /^failed with .* to unmarshal log$/);
});

test("logs: the first line tells the format", () => {
  assert.equal(parserFor(Buffer.from(`${AT} stdout F x\n`)), parseCriLog);
  assert.equal(parserFor(Buffer.from(jsonLines[0][0])), parseDockerJsonLog);
  assert.equal(parserFor(Buffer.from("plain text\n")), undefined);
});

const times = [
  // as written                            with nine digits                       Unix ms
  ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000000Z", Date.UTC(2026, 0, 2, 3, 4, 5)],
  ["2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.100000000Z", Date.UTC(2026, 0, 2, 3, 4, 5, 100)],
  ["2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456789Z", Date.UTC(2026, 0, 2, 3, 4, 5, 123) + 0.456789],
  ["2026-01-02T03:04:05.1234567891Z", "2026-01-02T03:04:05.123456789Z", Date.UTC(2026, 0, 2, 3, 4, 5, 123) + 0.456789],
  ["2026-01-02T03:04:05+02:30", "2026-01-02T03:04:05.000000000+02:30", Date.UTC(2026, 0, 2, 0, 34, 5)],
  ["2026-01-02T03:04:05-01:00", "2026-01-02T03:04:05.000000000-01:00", Date.UTC(2026, 0, 2, 4, 4, 5)],
  ["2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.000000000Z", Date.UTC(2026, 0, 2, 3, 4, 5)],
] as const;

for (const [written, fixed, atMs] of times) {
  test(`logs: the time ${written}`, () => {
    const time = parseLogTime(written);
    assert.ok(time);
    assert.equal(time.format(), fixed);
    assert.equal(time.isBefore(atMs + 0.001), true);
    assert.equal(time.isBefore(atMs - 0.001), false);
  });
}

for (const text of [
  "",
  "2026-01-02",
  "2026-13-02T03:04:05Z",
  "2026-00-02T03:04:05Z",
  "2026-01-00T03:04:05Z",
  "2026-01-32T03:04:05Z",
  "2026-02-29T03:04:05Z",
  "2026-01-02T24:04:05Z",
  "2026-01-02T03:60:05Z",
  "2026-01-02T03:04:05",
  "2026-01-02 03:04:05Z",
]) {
  test(`logs: ${JSON.stringify(text)} is not a time`, () => assert.equal(parseLogTime(text), undefined));
}

function shown(parsed: ReturnType<typeof parseCriLog>): string {
  return "problem" in parsed ? parsed.problem : `${parsed.stream}: ${parsed.text.toString()}`;
}
