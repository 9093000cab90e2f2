package engines

import (
	_ "github.com/griffin-search/griffin/internal/papers/ao11"      // registers ao11
	_ "github.com/griffin-search/griffin/internal/papers/ding09"    // registers ding09
	_ "github.com/griffin-search/griffin/internal/papers/griffin18" // registers griffin18
	_ "github.com/griffin-search/griffin/internal/papers/saat"      // registers saat
)
