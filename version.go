package griffin

// Version is the version of this module, as CHANGELOG.md lists it.
const Version = "0.1.0"
