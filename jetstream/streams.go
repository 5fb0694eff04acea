package jetstream

// Partitions is into how many partitions MEMORY splits its tenants.
const Partitions = 16
