# @summary A master of the pool, such as `puppet1` or `puppet2:9200`.
type Pmcheck::Master = Pattern[/\A(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:\d{1,5})?\z/]
