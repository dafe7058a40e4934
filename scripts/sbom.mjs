// The bill of materials of the package: CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json/.

/**
 * @param version of kubelab
 * @param packages as `bundledPackages` gives them
 */
export function sbom(version, packages) {
  const root = { ...component({ name: "kubelab", version, license: "Apache-2.0" }), type: "application" };
  const components = packages.map(component);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: root },
    components,
    dependencies: [
      { ref: root["bom-ref"], dependsOn: components.map((one) => one["bom-ref"]) },
      ...components.map((one) => ({ ref: one["bom-ref"], dependsOn: [] })),
    ],
  };
}

function component({ name, version, license, homepage }) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...(license === undefined ? {} : { licenses: [licenseChoice(license)] }),
    ...(homepage === undefined ? {} : { externalReferences: [{ type: "website", url: homepage }] }),
  };
}

/** An identifier of SPDX, or an expression of several. */
function licenseChoice(license) {
  return / (OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } };
}
