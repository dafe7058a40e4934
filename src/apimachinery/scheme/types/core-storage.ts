import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: persistent volumes and claims. */
export const coreStorage: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    PersistentVolumeClaim: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec PersistentVolumeClaimSpec
      3 status PersistentVolumeClaimStatus`,
    PersistentVolumeClaimSpec: `
      1 accessModes []string:PersistentVolumeAccessMode
      4 selector *LabelSelector
      2 resources ResourceRequirements
      3 volumeName string
      5 storageClassName *string
      6 volumeMode *string:PersistentVolumeMode default=Filesystem
      7 dataSource *TypedLocalObjectReference
      8 dataSourceRef *TypedLocalObjectReference`,
    PersistentVolumeClaimStatus: `
      1 phase string:PersistentVolumeClaimPhase
      2 accessModes []string:PersistentVolumeAccessMode
      3 capacity ResourceList
      4 conditions []PersistentVolumeClaimCondition merge=type
      5 allocatedResources ResourceList
      6 resizeStatus *string`,
    PersistentVolumeClaimCondition: `
      1 type string!
      2 status string!
      3 lastProbeTime time
      4 lastTransitionTime time
      5 reason string
      6 message string`,
    PersistentVolume: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec PersistentVolumeSpec
      3 status PersistentVolumeStatus`,
    PersistentVolumeSpec: `
      1 capacity ResourceList
      2 persistentVolumeSource PersistentVolumeSource inline
      3 accessModes []string:PersistentVolumeAccessMode
      4 claimRef *ObjectReference
      5 persistentVolumeReclaimPolicy string:PersistentVolumeReclaimPolicy
      6 storageClassName string
      7 mountOptions []string
      8 volumeMode *string:PersistentVolumeMode
      9 nodeAffinity *VolumeNodeAffinity`,
    PersistentVolumeStatus: `
      1 phase string:PersistentVolumePhase
      2 message string
      3 reason string`,
    VolumeNodeAffinity: `
      1 required *NodeSelector`,
    PersistentVolumeSource: `
      1  gcePersistentDisk *GCEPersistentDiskVolumeSource
      2  awsElasticBlockStore *AWSElasticBlockStoreVolumeSource
      3  hostPath *HostPathVolumeSource
      4  glusterfs *GlusterfsPersistentVolumeSource
      5  nfs *NFSVolumeSource
      6  rbd *RBDPersistentVolumeSource
      7  iscsi *ISCSIPersistentVolumeSource
      8  cinder *CinderPersistentVolumeSource
      9  cephfs *CephFSPersistentVolumeSource
      10 fc *FCVolumeSource
      11 flocker *FlockerVolumeSource
      12 flexVolume *FlexPersistentVolumeSource
      13 azureFile *AzureFilePersistentVolumeSource
      14 vsphereVolume *VsphereVirtualDiskVolumeSource
      15 quobyte *QuobyteVolumeSource
      16 azureDisk *AzureDiskVolumeSource
      17 photonPersistentDisk *PhotonPersistentDiskVolumeSource
      18 portworxVolume *PortworxVolumeSource
      19 scaleIO *ScaleIOPersistentVolumeSource
      20 local *LocalVolumeSource
      21 storageos *StorageOSPersistentVolumeSource
      22 csi *CSIPersistentVolumeSource`,
    GlusterfsPersistentVolumeSource: `
      1 endpoints string!
      2 path string!
      3 readOnly bool
      4 endpointsNamespace *string`,
    RBDPersistentVolumeSource: `
      1 monitors []string!
      2 image string!
      3 fsType string
      4 pool string default=rbd
      5 user string default=admin
      6 keyring string default=/etc/ceph/keyring
      7 secretRef *SecretReference
      8 readOnly bool`,
    ISCSIPersistentVolumeSource: `
      1  targetPortal string!
      2  iqn string!
      3  lun int32!
      4  iscsiInterface string default=default
      5  fsType string
      6  readOnly bool
      7  portals []string
      8  chapAuthDiscovery bool
      11 chapAuthSession bool
      10 secretRef *SecretReference
      12 initiatorName *string`,
    CinderPersistentVolumeSource: `
      1 volumeID string!
      2 fsType string
      3 readOnly bool
      4 secretRef *SecretReference`,
    CephFSPersistentVolumeSource: `
      1 monitors []string!
      2 path string
      3 user string
      4 secretFile string
      5 secretRef *SecretReference
      6 readOnly bool`,
    FlexPersistentVolumeSource: `
      1 driver string!
      2 fsType string
      3 secretRef *SecretReference
      4 readOnly bool
      5 options map:string`,
    AzureFilePersistentVolumeSource: `
      1 secretName string!
      2 shareName string!
      3 readOnly bool
      4 secretNamespace *string! optional`,
    ScaleIOPersistentVolumeSource: `
      1  gateway string!
      2  system string!
      3  secretRef *SecretReference!
      4  sslEnabled bool
      5  protectionDomain string
      6  storagePool string
      7  storageMode string default=ThinProvisioned
      8  volumeName string
      9  fsType string default=xfs
      10 readOnly bool`,
    LocalVolumeSource: `
      1 path string!
      2 fsType *string`,
    StorageOSPersistentVolumeSource: `
      1 volumeName string
      2 volumeNamespace string
      3 fsType string
      4 readOnly bool
      5 secretRef *ObjectReference`,
    CSIPersistentVolumeSource: `
      1  driver string!
      2  volumeHandle string!
      3  readOnly bool
      4  fsType string
      5  volumeAttributes map:string
      6  controllerPublishSecretRef *SecretReference
      7  nodeStageSecretRef *SecretReference
      8  nodePublishSecretRef *SecretReference
      9  controllerExpandSecretRef *SecretReference
      10 nodeExpandSecretRef *SecretReference`,
  },
};
