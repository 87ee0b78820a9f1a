"""What is said of laws that explain nothing."""

NOTHING = "the laws explain nothing at steps they were not fitted to"
CURE = "try a lower order, a wider radius, a larger ridge, fewer channels or a larger weight"
