// A module of its own without packages, so that modules that require Residua do not download it.
module github.com/residua-go/residua/studies

go 1.26
