import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: what a pod's volume can be. */
export const coreVolumes: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    Volume: `
      -- A directory for the pod's containers; what it holds depends on the source. No source: an empty directory.
      1 name string! -- Containers mount it by this name.
      2 volumeSource VolumeSource inline`,
    VolumeSource: `
      1  hostPath *HostPathVolumeSource -- A file or folder of the node.
      2  emptyDir *EmptyDirVolumeSource -- An empty folder that lives as long as the pod.
      3  gcePersistentDisk *GCEPersistentDiskVolumeSource
      4  awsElasticBlockStore *AWSElasticBlockStoreVolumeSource
      5  gitRepo *GitRepoVolumeSource
      6  secret *SecretVolumeSource -- The keys of a secret, as files.
      7  nfs *NFSVolumeSource
      8  iscsi *ISCSIVolumeSource
      9  glusterfs *GlusterfsVolumeSource
      10 persistentVolumeClaim *PersistentVolumeClaimVolumeSource -- A claim in the same namespace.
      11 rbd *RBDVolumeSource
      12 flexVolume *FlexVolumeSource
      13 cinder *CinderVolumeSource
      14 cephfs *CephFSVolumeSource
      15 flocker *FlockerVolumeSource
      16 downwardAPI *DownwardAPIVolumeSource -- Facts about the pod, as files.
      17 fc *FCVolumeSource
      18 azureFile *AzureFileVolumeSource
      19 configMap *ConfigMapVolumeSource -- The keys of a config map, as files.
      20 vsphereVolume *VsphereVirtualDiskVolumeSource
      21 quobyte *QuobyteVolumeSource
      22 azureDisk *AzureDiskVolumeSource
      23 photonPersistentDisk *PhotonPersistentDiskVolumeSource
      26 projected *ProjectedVolumeSource -- Several of these in one folder, for example the service account's token.
      24 portworxVolume *PortworxVolumeSource
      25 scaleIO *ScaleIOVolumeSource
      27 storageos *StorageOSVolumeSource
      28 csi *CSIVolumeSource
      29 ephemeral *EphemeralVolumeSource`,
    HostPathVolumeSource: `
      1 path string!
      2 type *string:HostPathType default=`,
    EmptyDirVolumeSource: `
      1 medium string:StorageMedium
      2 sizeLimit *quantity`,
    GCEPersistentDiskVolumeSource: `
      1 pdName string!
      2 fsType string
      3 partition int32
      4 readOnly bool`,
    AWSElasticBlockStoreVolumeSource: `
      1 volumeID string!
      2 fsType string
      3 partition int32
      4 readOnly bool`,
    GitRepoVolumeSource: `
      1 repository string!
      2 revision string
      3 directory string`,
    SecretVolumeSource: `
      1 secretName string
      2 items []KeyToPath
      3 defaultMode *int32 default=420
      4 optional *bool`,
    NFSVolumeSource: `
      1 server string!
      2 path string!
      3 readOnly bool`,
    ISCSIVolumeSource: `
      1  targetPortal string!
      2  iqn string!
      3  lun int32!
      4  iscsiInterface string default=default
      5  fsType string
      6  readOnly bool
      7  portals []string
      8  chapAuthDiscovery bool
      11 chapAuthSession bool
      10 secretRef *LocalObjectReference
      12 initiatorName *string`,
    GlusterfsVolumeSource: `
      1 endpoints string!
      2 path string!
      3 readOnly bool`,
    PersistentVolumeClaimVolumeSource: `
      1 claimName string!
      2 readOnly bool`,
    RBDVolumeSource: `
      1 monitors []string!
      2 image string!
      3 fsType string
      4 pool string default=rbd
      5 user string default=admin
      6 keyring string default=/etc/ceph/keyring
      7 secretRef *LocalObjectReference
      8 readOnly bool`,
    FlexVolumeSource: `
      1 driver string!
      2 fsType string
      3 secretRef *LocalObjectReference
      4 readOnly bool
      5 options map:string`,
    CinderVolumeSource: `
      1 volumeID string!
      2 fsType string
      3 readOnly bool
      4 secretRef *LocalObjectReference`,
    CephFSVolumeSource: `
      1 monitors []string!
      2 path string
      3 user string
      4 secretFile string
      5 secretRef *LocalObjectReference
      6 readOnly bool`,
    FlockerVolumeSource: `
      1 datasetName string
      2 datasetUUID string`,
    DownwardAPIVolumeSource: `
      1 items []DownwardAPIVolumeFile
      2 defaultMode *int32 default=420`,
    DownwardAPIVolumeFile: `
      1 path string!
      2 fieldRef *ObjectFieldSelector
      3 resourceFieldRef *ResourceFieldSelector
      4 mode *int32`,
    FCVolumeSource: `
      1 targetWWNs []string
      2 lun *int32
      3 fsType string
      4 readOnly bool
      5 wwids []string`,
    AzureFileVolumeSource: `
      1 secretName string!
      2 shareName string!
      3 readOnly bool`,
    ConfigMapVolumeSource: `
      1 localObjectReference LocalObjectReference inline
      2 items []KeyToPath
      3 defaultMode *int32 default=420
      4 optional *bool`,
    VsphereVirtualDiskVolumeSource: `
      1 volumePath string!
      2 fsType string
      3 storagePolicyName string
      4 storagePolicyID string`,
    QuobyteVolumeSource: `
      1 registry string!
      2 volume string!
      3 readOnly bool
      4 user string
      5 group string
      6 tenant string`,
    AzureDiskVolumeSource: `
      1 diskName string!
      2 diskURI string!
      3 cachingMode *string default=ReadWrite
      4 fsType *string default=ext4
      5 readOnly *bool default=false
      6 kind *string default=Shared`,
    PhotonPersistentDiskVolumeSource: `
      1 pdID string!
      2 fsType string`,
    ProjectedVolumeSource: `
      1 sources []VolumeProjection! optional
      2 defaultMode *int32 default=420`,
    VolumeProjection: `
      1 secret *SecretProjection
      2 downwardAPI *DownwardAPIProjection
      3 configMap *ConfigMapProjection
      4 serviceAccountToken *ServiceAccountTokenProjection`,
    SecretProjection: `
      1 localObjectReference LocalObjectReference inline
      2 items []KeyToPath
      4 optional *bool`,
    ConfigMapProjection: `
      1 localObjectReference LocalObjectReference inline
      2 items []KeyToPath
      4 optional *bool`,
    DownwardAPIProjection: `
      1 items []DownwardAPIVolumeFile`,
    ServiceAccountTokenProjection: `
      1 audience string
      2 expirationSeconds *int64 default=3600
      3 path string!`,
    KeyToPath: `
      1 key string!
      2 path string!
      3 mode *int32`,
    PortworxVolumeSource: `
      1 volumeID string!
      2 fsType string
      3 readOnly bool`,
    ScaleIOVolumeSource: `
      1  gateway string!
      2  system string!
      3  secretRef *LocalObjectReference!
      4  sslEnabled bool
      5  protectionDomain string
      6  storagePool string
      7  storageMode string default=ThinProvisioned
      8  volumeName string
      9  fsType string default=xfs
      10 readOnly bool`,
    StorageOSVolumeSource: `
      1 volumeName string
      2 volumeNamespace string
      3 fsType string
      4 readOnly bool
      5 secretRef *LocalObjectReference`,
    CSIVolumeSource: `
      1 driver string!
      2 readOnly *bool
      3 fsType *string
      4 volumeAttributes map:string
      5 nodePublishSecretRef *LocalObjectReference`,
    EphemeralVolumeSource: `
      1 volumeClaimTemplate *PersistentVolumeClaimTemplate`,
    PersistentVolumeClaimTemplate: `
      1 metadata ObjectMeta
      2 spec PersistentVolumeClaimSpec!`,
  },
};
