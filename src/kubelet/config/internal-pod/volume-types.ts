import type { GoTable } from "./go-type.js";

/**
 * Volumes. Those that no kubelet of today mounts by itself, and claims made from a template, have a name here and no fields.
 *
 * Mirrors pkg/apis/core/types.go (Volume, VolumeSource, VolumeProjection, ...).
 */
export const VOLUME_TYPES: GoTable = {
  Volume: `
    Name         string
    VolumeSource VolumeSource inline`,
  VolumeSource: `
    HostPath              *HostPathVolumeSource
    EmptyDir              *EmptyDirVolumeSource
    GCEPersistentDisk     *GCEPersistentDiskVolumeSource
    AWSElasticBlockStore  *AWSElasticBlockStoreVolumeSource
    GitRepo               *GitRepoVolumeSource
    Secret                *SecretVolumeSource
    NFS                   *NFSVolumeSource
    ISCSI                 *ISCSIVolumeSource
    Glusterfs             *GlusterfsVolumeSource
    PersistentVolumeClaim *PersistentVolumeClaimVolumeSource
    RBD                   *RBDVolumeSource
    Quobyte               *QuobyteVolumeSource
    FlexVolume            *FlexVolumeSource
    Cinder                *CinderVolumeSource
    CephFS                *CephFSVolumeSource json=cephfs
    Flocker               *FlockerVolumeSource
    DownwardAPI           *DownwardAPIVolumeSource
    FC                    *FCVolumeSource
    AzureFile             *AzureFileVolumeSource
    ConfigMap             *ConfigMapVolumeSource
    VsphereVolume         *VsphereVirtualDiskVolumeSource
    AzureDisk             *AzureDiskVolumeSource
    PhotonPersistentDisk  *PhotonPersistentDiskVolumeSource
    Projected             *ProjectedVolumeSource
    PortworxVolume        *PortworxVolumeSource
    ScaleIO               *ScaleIOVolumeSource
    StorageOS             *StorageOSVolumeSource json=storageos
    CSI                   *CSIVolumeSource
    Ephemeral             *EphemeralVolumeSource
    Image                 *ImageVolumeSource since=1.31`,

  HostPathVolumeSource: `
    Path string
    Type *string:HostPathType`,
  EmptyDirVolumeSource: `
    Medium    string:StorageMedium
    SizeLimit *Quantity`,
  SecretVolumeSource: `
    SecretName  string
    Items       []KeyToPath
    DefaultMode *int32
    Optional    *bool`,
  ConfigMapVolumeSource: `
    LocalObjectReference LocalObjectReference inline
    Items                []KeyToPath
    DefaultMode          *int32
    Optional             *bool`,
  KeyToPath: `
    Key  string
    Path string
    Mode *int32`,
  DownwardAPIVolumeSource: `
    Items       []DownwardAPIVolumeFile
    DefaultMode *int32`,
  DownwardAPIVolumeFile: `
    Path             string
    FieldRef         *ObjectFieldSelector
    ResourceFieldRef *ResourceFieldSelector
    Mode             *int32`,
  NFSVolumeSource: `
    Server   string
    Path     string
    ReadOnly bool`,
  PersistentVolumeClaimVolumeSource: `
    ClaimName string
    ReadOnly  bool`,
  CSIVolumeSource: `
    Driver               string
    ReadOnly             *bool
    FSType               *string
    VolumeAttributes     map
    NodePublishSecretRef *LocalObjectReference`,

  ProjectedVolumeSource: `
    Sources     []VolumeProjection
    DefaultMode *int32`,
  VolumeProjection: `
    Secret              *SecretProjection
    DownwardAPI         *DownwardAPIProjection
    ConfigMap           *ConfigMapProjection
    ServiceAccountToken *ServiceAccountTokenProjection
    ClusterTrustBundle  *ClusterTrustBundleProjection since=1.29
    PodCertificate      *PodCertificateProjection since=1.34`,
  SecretProjection: `
    LocalObjectReference LocalObjectReference inline
    Items                []KeyToPath
    Optional             *bool`,
  ConfigMapProjection: `
    LocalObjectReference LocalObjectReference inline
    Items                []KeyToPath
    Optional             *bool`,
  DownwardAPIProjection: `
    Items []DownwardAPIVolumeFile`,
  ServiceAccountTokenProjection: `
    Audience          string
    ExpirationSeconds int64
    Path              string`,
};
