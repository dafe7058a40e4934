import type { GoTable } from "./go-type.js";

/** Where a pod may run. Mirrors pkg/apis/core/types.go (Affinity, Toleration, TopologySpreadConstraint, ...). */
export const SCHEDULING_TYPES: GoTable = {
  Toleration: `
    Key               string
    Operator          string:TolerationOperator
    Value             string
    Effect            string:TaintEffect
    TolerationSeconds *int64`,
  Affinity: `
    NodeAffinity    *NodeAffinity
    PodAffinity     *PodAffinity
    PodAntiAffinity *PodAntiAffinity`,
  NodeAffinity: `
    RequiredDuringSchedulingIgnoredDuringExecution  *NodeSelector
    PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm`,
  NodeSelector: `
    NodeSelectorTerms []NodeSelectorTerm`,
  NodeSelectorTerm: `
    MatchExpressions []NodeSelectorRequirement
    MatchFields      []NodeSelectorRequirement`,
  NodeSelectorRequirement: `
    Key      string
    Operator string:NodeSelectorOperator
    Values   []string`,
  PreferredSchedulingTerm: `
    Weight     int32
    Preference NodeSelectorTerm`,
  PodAffinity: `
    RequiredDuringSchedulingIgnoredDuringExecution  []PodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm`,
  PodAntiAffinity: `
    RequiredDuringSchedulingIgnoredDuringExecution  []PodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm`,
  WeightedPodAffinityTerm: `
    Weight          int32
    PodAffinityTerm PodAffinityTerm`,
  PodAffinityTerm: `
    LabelSelector     *v1.LabelSelector
    Namespaces        []string
    TopologyKey       string
    NamespaceSelector *v1.LabelSelector since=1.21
    MatchLabelKeys    []string since=1.29
    MismatchLabelKeys []string since=1.29`,
  TopologySpreadConstraint: `
    MaxSkew            int32
    TopologyKey        string
    WhenUnsatisfiable  string:UnsatisfiableConstraintAction
    LabelSelector      *v1.LabelSelector
    MinDomains         *int32 since=1.24
    NodeAffinityPolicy *string:NodeInclusionPolicy since=1.25
    NodeTaintsPolicy   *string:NodeInclusionPolicy since=1.25
    MatchLabelKeys     []string since=1.25`,
  "v1.LabelSelector": `
    MatchLabels      map
    MatchExpressions []v1.LabelSelectorRequirement`,
  "v1.LabelSelectorRequirement": `
    Key      string
    Operator string:v1.LabelSelectorOperator
    Values   []string`,
};
