# @summary A master of the pool, such as `puppet1`, `puppet2:9200` or `https://puppet3:9200`.
type Pmcheck::Master = Pattern[/\A(https?:\/\/)?(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:\d{1,5})?\z/]
