package base

// An index folder holds a file ManifestName that begins with ManifestMagic
// (docs/formats/manifest.md).
const (
	ManifestName  = "MANIFEST"
	ManifestMagic = "griffin-manifest "
)
