package base

// How an index folder is recognised: it holds a file ManifestName that begins
// with ManifestMagic. docs/formats/manifest.md describes the rest.
const (
	ManifestName  = "MANIFEST"
	ManifestMagic = "griffin-manifest "
)
