package engines

import (
	_ "github.com/griffin-search/griffin/internal/papers/saat" // registers saat
)
