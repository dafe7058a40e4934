import { expect, test } from "vitest";
import { servingCertificateMetrics, ttlSeconds } from "../../../src/kubelet/certificate/certificate-metrics.js";
import { parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import { CountedMetrics } from "../../support/counted.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";

test("a certificate's time to live is in whole seconds, negative once it has expired, infinite without one", async () => {
  const { certificatePem } = await makeLeaf(await makeAuthority());
  const { notAfterMs } = parseCertificatePem(certificatePem);
  expect(ttlSeconds(certificatePem, notAfterMs - 90_900)).toBe(90);
  expect(ttlSeconds(certificatePem, notAfterMs + 90_900)).toBe(-90);
  expect(ttlSeconds(undefined, notAfterMs)).toBe(Number.POSITIVE_INFINITY);
});

test("an infinite time to live is +Inf, as Prometheus reads it", async () => {
  const metrics = new CountedMetrics();
  metrics.set("kubelet_certificate_manager_server_ttl_seconds", ttlSeconds(undefined, 0));
  expect(await metrics.text()).toContain("kubelet_certificate_manager_server_ttl_seconds +Inf\n");
});

test("renewals of the serving certificate are counted by age, failures by number", async () => {
  const metrics = new CountedMetrics();
  const of = servingCertificateMetrics(metrics);
  of.renewFailed();
  of.rotated?.(7_200_000);
  expect(await metrics.series("kubelet_server_expiration_renew_errors")).toEqual(["1"]);
  expect(await metrics.series("kubelet_certificate_manager_server_rotation_seconds")).toEqual(["count 1", "sum 7200"]);
});
